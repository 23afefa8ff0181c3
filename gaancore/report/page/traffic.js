function ofTraffic() {}
