"""Files of speeds and roads as people have them, one module each."""
