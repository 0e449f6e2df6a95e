"""A simulated language model for tests: an OpenAI-compatible server that says what a script tells it to.

    with simulated_model({"rules": [{"kind": "judge", "reply": {"supported": True}}], "latency": 0.2}) as model:
        litellm.completion("openai/simulated", messages, api_base=model.url, api_key=model.key)
        assert model.calls().by_kind == {"judge": 1}

`burnish.testing.script` says what a script can hold. The server also runs alone: `python -m burnish.testing.server`.
"""

from burnish.testing.running import Calls, Prompted, SimulatedModel, simulated_model
from burnish.testing.script import Rule, Script, read_script

__all__ = ["Calls", "Prompted", "Rule", "Script", "SimulatedModel", "read_script", "simulated_model"]
