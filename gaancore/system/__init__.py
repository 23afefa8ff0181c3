"""What lies below everything: threads, compilation, processes, paths and files on disk."""
