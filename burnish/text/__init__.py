"""Text as burnish compares it: normalising, languages, chunks, fusion, quotes and metrics. Pure, no dependencies."""
