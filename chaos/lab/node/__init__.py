"""One node of the lab as one process: its replicas, its GPU exporter and its fault socket."""
