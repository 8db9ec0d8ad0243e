"""guerdon's server with shared prompts switched off: ``python unshared.py MODEL PORT``."""

from __future__ import annotations

import sys

from guerdon.rewards.model import RewardModel
from guerdon.serving.app import create_app
from guerdon.serving.config import ServeConfig

if __name__ == "__main__":
    import uvicorn

    model = RewardModel.load(sys.argv[1], share_prompts=False)
    app = create_app(ServeConfig(cache_entries=0), {"m": model})
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning", access_log=False)
