"""One folder for each database engine, and what an engine is (`engine`)."""
