"""A RAG system of parts: documents in, answers out, over anybody's vector database, language model and chunker.

system       RAGSystem: the whole, plain and asynchronous; base: the point to subclass
documents, chunks, chunking, context, stores, memory_store, postgres_store, embedding   the parts that come with it
ingestion, holdings, history, versions                                                  documents, and what they were
retrieval, expansion, synonyms, merging, reranking, weighing, marks, cache, flights     searching
generation, prompting, routing, templates, speaking, streaming                          answering
flow                                                                                    how both forms are one
"""
