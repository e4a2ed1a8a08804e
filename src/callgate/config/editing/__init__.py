"""Changes to the text of `callgate.toml`: where what stands in it, and how a value is written. Pure."""
