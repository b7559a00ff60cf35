"""Coding agents as data: how each is installed, started without a question, pointed to the gateway, and kept from calling home."""

from __future__ import annotations

import json
import platform

from tracebench_core.specs import AgentSpec

CODEX = """\
model = "{model}"
model_provider = "gateway"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "disabled"

[model_providers.gateway]
name = "gateway"
base_url = "{base_url}"
env_key = "GATEWAY_KEY"
wire_api = "responses"

[analytics]
enabled = false

[feedback]
enabled = false

[history]
persistence = "none"

[features]
apps = false
plugins = false
remote_plugin = false
"""
"""It is kept in the job's cage; a second one inside would need namespaces that the first may not give."""

OPENCODE = {
    "$schema": "https://opencode.ai/config.json",
    "autoupdate": False,
    "share": "disabled",
    "model": "gateway/{model}",
    "small_model": "gateway/{model}",
    "enabled_providers": ["gateway"],
    "permission": {"*": "allow"},
    "provider": {
        "gateway": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "gateway",
            "options": {"baseURL": "{base_url}", "apiKey": "{key}"},
            "models": {"{model}": {"name": "{model}"}},
        }
    },
}

GEMINI = {
    "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
}

QWEN = {
    "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
}

MEASURE_AND_GO_ON = "test ! -x ./evaluate || { ./evaluate; exit 1; }"
"""aider runs no command of its own accord: it tests after each edit, and shows its model what a test that failed has printed."""

GOOSE = {"x86_64": "goose-binary-linux-x64", "aarch64": "goose-binary-linux-arm64"}.get(platform.machine(), "")
"""The package of its project that holds the program for this machine, and the program's name in it; none for another machine."""

AGENTS = (
    AgentSpec(
        name="claude-code",
        title="Anthropic's Claude Code",
        packages=("@anthropic-ai/claude-code@>=2.1.197 <2.2",),
        program="claude",
        wire="messages",
        argv=("--print", "{task}", "--dangerously-skip-permissions", "--no-session-persistence", "--strict-mcp-config"),
        environ={
            "ANTHROPIC_BASE_URL": "{host_url}",
            "ANTHROPIC_API_KEY": "{key}",
            "ANTHROPIC_MODEL": "{model}",
            "ANTHROPIC_SMALL_FAST_MODEL": "{model}",
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": "{model}",
            "ANTHROPIC_DEFAULT_SONNET_MODEL": "{model}",
            "ANTHROPIC_DEFAULT_OPUS_MODEL": "{model}",
            "CLAUDE_CODE_SUBAGENT_MODEL": "{model}",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "IS_SANDBOX": "1",
        },
    ),
    AgentSpec(
        name="codex",
        title="OpenAI's Codex",
        packages=("@openai/codex@>=0.169 <0.170",),
        program="codex",
        wire="responses",
        argv=("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "{task}"),
        environ={"CODEX_HOME": "{home}/.codex", "GATEWAY_KEY": "{key}"},
        files={".codex/config.toml": CODEX},
    ),
    AgentSpec(
        name="opencode",
        title="opencode",
        packages=("opencode-ai@>=1.18.33 <1.19",),
        program="opencode",
        wire="chat",
        argv=("run", "--pure", "--auto", "--title", "task", "{task}"),
        environ={
            "OPENCODE_CONFIG_CONTENT": json.dumps(OPENCODE),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_SHARE": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
            "NPM_CONFIG_OFFLINE": "true",
        },
    ),
    AgentSpec(
        name="mini-swe-agent",
        title="mini-swe-agent, of the authors of SWE-bench",
        requirements=("mini-swe-agent>=2.4.6,<2.5", "litellm>=1.106,<1.110", "mcp>=1.20,<3"),
        python=">=3.10,<3.14",
        program="mini",
        wire="chat",
        argv=("--yolo", "--exit-immediately", "--cost-limit", "0", "--model", "openai/{model}", "--task", "{task}"),
        environ={
            "OPENAI_API_BASE": "{base_url}",
            "OPENAI_API_KEY": "{key}",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_GLOBAL_CONFIG_DIR": "{home}/.mini",
            "MSWEA_SILENT_STARTUP": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
    ),
    AgentSpec(
        name="aider",
        title="aider",
        description="It edits by text alone: after each edit the preset measures, and shows its model what was found.",
        requirements=("aider-chat>=0.86.2,<0.87",),
        python=">=3.10,<3.13",
        program="aider",
        wire="chat",
        argv=(
            "--model", "openai/{model}", "--edit-format", "diff", "--yes-always", "--no-git", "--no-auto-lint", "--auto-test",
            "--test-cmd", MEASURE_AND_GO_ON, "--no-check-update", "--analytics-disable", "--no-show-release-notes",
            "--no-show-model-warnings", "--no-detect-urls", "--no-suggest-shell-commands", "--no-pretty", "--no-fancy-input",
            "--message", "{task}", "{files}",
        ),
        environ={"OPENAI_API_BASE": "{base_url}", "OPENAI_API_KEY": "{key}", "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        files={".aider/caches/model_prices_and_context_window.json": '{"sample_spec": {}}'},
    ),
    AgentSpec(
        name="gemini-cli",
        title="Google's Gemini CLI",
        packages=("@google/gemini-cli@>=0.61 <0.62",),
        program="gemini",
        wire="gemini",
        argv=("--yolo", "--skip-trust", "--model", "{model}", "--prompt", "{task}"),
        environ={
            "GOOGLE_GEMINI_BASE_URL": "{host_url}",
            "GEMINI_API_KEY": "{key}",
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "GEMINI_TELEMETRY_ENABLED": "false",
        },
        files={".gemini/settings.json": json.dumps(GEMINI, indent=2)},
    ),
    AgentSpec(
        name="qwen-code",
        title="Qwen Code",
        packages=("@qwen-code/qwen-code@>=0.15.10 <0.16",),
        program="qwen",
        wire="chat",
        argv=("--yolo", "--auth-type", "openai", "--model", "{model}", "--prompt", "{task}"),
        environ={
            "OPENAI_BASE_URL": "{base_url}",
            "OPENAI_API_KEY": "{key}",
            "OPENAI_MODEL": "{model}",
            "QWEN_CODE_NO_RELAUNCH": "true",
            "HTTP_PROXY": "",
            "HTTPS_PROXY": "",
        },
        files={".qwen/settings.json": json.dumps(QWEN, indent=2)},
    ),
    AgentSpec(
        name="openhands",
        title="OpenHands, by its command line",
        requirements=("openhands>=1.16,<1.17",),
        python=">=3.12,<3.14",
        program="openhands",
        wire="chat",
        argv=("--headless", "--override-with-envs", "--task", "{task}"),
        environ={
            "LLM_MODEL": "openai/{model}",
            "LLM_BASE_URL": "{base_url}",
            "LLM_API_KEY": "{key}",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "OPENHANDS_SUPPRESS_BANNER": "1",
            "GIT_ALLOW_PROTOCOL": "file",
        },
    ),
    AgentSpec(
        name="goose",
        title="goose, of the Agentic AI Foundation",
        packages=(f"@aaif/{GOOSE}@>=1.52 <1.53",) if GOOSE else (),
        by_hand="Its project has no package for this machine on npm; `goose` on PATH is taken.",
        program=GOOSE or "goose",
        wire="chat",
        argv=("run", "--no-session", "--with-builtin", "developer", "--text", "{task}"),
        environ={
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "{model}",
            "GOOSE_MODE": "auto",
            "GOOSE_DISABLE_KEYRING": "1",
            "GOOSE_TELEMETRY_ENABLED": "false",
            "OPENAI_HOST": "{host_url}",
            "OPENAI_API_KEY": "{key}",
        },
    ),
)  # fmt: skip
