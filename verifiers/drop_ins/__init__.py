"""The math verifier in the call forms of other tools, so that an import is all that changes.

    drop_ins.math_verify    parse and verify of math-verify 0.9
    drop_ins.verl           compute_score of verl
    drop_ins.trl            accuracy_reward and reasoning_accuracy_reward of TRL
    drop_ins.lm_eval        a filter, a metric and process_results for lm-evaluation-harness

A sample without a verdict is never 0 here. Each form says it in its own way, or, where it has none, raises
``UnscoredError``. What differs from the originals on purpose: docs/verifiers/drop_ins.md. For other verifiers and for
servers there are ``guerdon.rewards.trainers``; these modules are for who wants to change one line.
"""
