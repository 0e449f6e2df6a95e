"""Anybody's retriever and language model, made ours.

    passages    what a retriever gave, of whatever shape, as Passages
    replies     what a language model gave, of whatever shape, as a Reply; an error that came as a value is an error
    signatures  which arguments a function takes
    calling     calling it, whether it blocks or is awaited
    retries     when to call again, and after how long
    backends, models, performing    the above put together

What cannot be understood is an error with a name, never an empty context and never an answer.
"""
