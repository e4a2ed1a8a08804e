"""From the journals to the store: a thread, batches of rows, and what else a batch needs on its way.

Must not know which store it is (`ports.RecordStore`).
"""
