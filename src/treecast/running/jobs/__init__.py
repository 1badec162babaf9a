"""Jobs: ranks as processes, however they talk. How they are watched, which of them ended how, and how all of them are ended."""
