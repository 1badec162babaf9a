"""Verification: is a schedule right, and how far is it from the lower bound?"""
