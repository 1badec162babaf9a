"""Tests of treecast.torch; those with torch in them are skipped where it is not installed."""
