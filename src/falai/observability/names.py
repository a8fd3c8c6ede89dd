"""The names of attributes on spans.

Those of the GenAI conventions of OpenTelemetry (v0.1.0, in a repository of their own since they left
the general conventions) are written down here: the constants of the package that has them are
deprecated. What the conventions have no name for is under `falai.`.
"""

from __future__ import annotations

from typing import Final

AGENT: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
ERROR: Final = "error.type"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
INPUT_TOKENS_CACHED: Final = "gen_ai.usage.cache_read.input_tokens"
INSTRUCTIONS: Final = "gen_ai.system_instructions"
MAX_TOKENS: Final = "gen_ai.request.max_tokens"
MODEL: Final = "gen_ai.request.model"
MODEL_ANSWERED: Final = "gen_ai.response.model"
OPERATION: Final = "gen_ai.operation.name"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
OUTPUT_TYPE: Final = "gen_ai.output.type"
PROVIDER: Final = "gen_ai.provider.name"
STREAM: Final = "gen_ai.request.stream"
TOOL: Final = "gen_ai.tool.name"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
TOOL_TYPE: Final = "gen_ai.tool.type"
WORKFLOW: Final = "gen_ai.workflow.name"  # what AGENT was called on a turn's span before v0.1.0

ACTION: Final = "falai.action.name"
ACTION_PARAMETERS: Final = "falai.action.parameters"
ACTION_RESULT: Final = "falai.action.result"
ACTION_STATUS: Final = "falai.action.status"
CALL: Final = "falai.call"
CHANGED: Final = "falai.changed"
COST: Final = "falai.cost"
FLOW: Final = "falai.flow"
FLOWS_ENDED: Final = "falai.flows.ended"
FLOWS_STARTED: Final = "falai.flows.started"
INPUT: Final = "falai.input"
LLM_CALLS: Final = "falai.llm_calls"
MESSAGES: Final = "falai.messages"
OUTCOMES: Final = "falai.outcomes"
SILENCED: Final = "falai.silenced"
STEP: Final = "falai.step"

PROVIDERS: Final = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google": "gcp.gemini",
    "google-cloud": "gcp.vertex_ai",
    "grok": "x_ai",
    "mistral": "mistral_ai",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "xai": "x_ai",
}
"""The prefixes of model names that the conventions know by another name."""
