"""Several gateways that are one to their clients (docs/replicas.md). Loaded with `[replicas]` or workers.

sealed_ids          pure: ids of sessions that name their home
hop_seal            pure: what a request between replicas is signed with
directory           who is there and who has which session, as a Protocol
postgres_directory  the same in PostgreSQL
file_directory      the same in files, for workers of one machine
lead                the worker that has the record, and answers for all
members             the heartbeat, addresses, and who is gone
fleet               how all replicas are doing (`ports.Fleet`)
reports             pure: what a replica tells of its servers and its record
comparison          pure: what some replicas have otherwise than the others
homes               which replica a session belongs to (`ports.Homes`)
hop_client          passes a request on (`ports.Peers`)
streamed_answer     the request of a hop, and its answer as it comes (`ports.PeerTransport`)
hop_gate            checks a request that was passed on (`ports.HopGate`)
"""
