"""What a gateway serves now: its configuration, and the upstreams. Both change while it runs."""
