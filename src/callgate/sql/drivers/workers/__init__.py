"""Worker threads for drivers that block: one connection each, a pool of them, a watchdog over each job."""
