"""MSCCL XML: what each threadblock of each GPU sends, receives, copies and adds, written and judged."""
