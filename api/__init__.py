"""The HTTP API: questions in, answers and their proof out. Thin: it writes rows, sends hints and reads rows."""
