"""The strategies as classes: a retriever and a language model at construction, then question after question.

    rag = SelfIRAG(my_rag, my_llm)
    result = rag.query("How long is the Danube?")        # or await rag.aquery(...), rag.abatch([...]), rag.astream(...)
    print(result.answer, result.confidence, result.status, result.sources)

    configs       what may be set, checked
    results       what comes back: plain dataclasses with `to_dict()` (plain: values as JSON has them)
    running       what all classes have in common (batches: many questions at once)
    recording     the events of a run, put together as a tree; facts: from the tree to a result
    self_irag, hyde_rag, recursive_rag, self_rag, multi_hop_rag      the classes
    compatibility functions that older code imports

The classes are a thin door. What they do is done by the same generators and the same engine as everywhere else.
`docs/differences.md` lists in what they differ from other libraries' classes of the same names.
"""
