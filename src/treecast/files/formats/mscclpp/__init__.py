"""Plans of MSCCL++: writing them, and judging those that anybody wrote."""
