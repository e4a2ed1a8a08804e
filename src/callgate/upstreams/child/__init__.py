"""Upstreams as child processes: started, limited, watched, and never left behind."""
