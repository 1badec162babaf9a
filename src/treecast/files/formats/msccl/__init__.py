"""MSCCL XML: the sends, receives, copies and additions of each threadblock, written and judged."""
