"""What a caller gets to see: faithful cells, Markdown and JSON, both cut at the same row."""
