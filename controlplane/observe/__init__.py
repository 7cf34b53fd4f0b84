"""What the fleet yields, measured: metrics through Prometheus, known questions past the gateway.

Profiles (data) say which series feed which measure; counters become increments, increments
become windows, windows become indicators. A measurement that failed is unknown, never
good and never bad. Nothing here decides.
"""
