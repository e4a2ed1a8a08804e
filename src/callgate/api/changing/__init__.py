"""What operators change: the configuration, and trying what is to be added."""
