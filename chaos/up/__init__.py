"""The embedded fleet with its control plane: everything on one machine, by one command.

It starts the lab and the control plane's own processes, restarts the latter with back-off
(never the lab's: what a drill broke stays broken), and leaves nothing behind. It knows
the control plane's processes by their command lines only.
"""
