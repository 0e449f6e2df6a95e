"""The processes that do the work: Celery workers of both lanes, and the reconciler."""
