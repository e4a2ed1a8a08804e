"""`GET /api/v1/events`: who reads the live stream, and what each reader is told."""
