"""What the API and the commands do with the configuration file: trying what is to be added, and changes."""
