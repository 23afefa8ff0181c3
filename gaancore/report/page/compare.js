function ofSeveral() {}
