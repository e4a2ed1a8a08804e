"""Finding a tool by words and calling it by its name, for clients that do not list all tools."""
