"""The finished thing as an operator has it: commands, processes, the console in a browser."""
