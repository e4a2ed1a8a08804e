"""One folder for each database engine, and which dialect and schema queries belong to which name."""
