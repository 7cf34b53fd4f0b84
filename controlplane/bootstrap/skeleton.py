"""What an author begins with: a playbook that works as it stands, explained, and its test.

The loader and the test run hold both in this project's own tests, so that a first attempt begins green.
"""

from __future__ import annotations

import re

from controlplane.kernel.errors import InvalidInput
from controlplane.model.base import NAME_PATTERN

PLAYBOOK = """\
# Check it:  fleetward validate {name}.yaml     Test it:  fleetward playbook test {name}.yaml
# The editor helps when it knows the schema: fleetward schema -o .schemas, and as the first line of this file
#   # yaml-language-server: $schema=.schemas/playbook.json
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {{name: {name}}}
spec:
  description: Say in one sentence what it does, and when.

  # observe: only look. dryRun: plan. approve: ask first. auto: act. The strictest of this, the service's
  # and the policy's wins: write approve until you trust it.
  mode: auto

  # What starts it. Without triggers it is started by hand only.
  triggers:
    - {{type: slo, slo: chat-success, tiers: [fast, page], by: zone}}

  # A condition over incident, service, inputs, limits and now; it does not start while this is false.
  when: incident.zone in service.zones and service.zones | length > 1

  # What whoever starts it may set. Steps read it as inputs.ramp.
  inputs:
    ramp: {{type: duration, default: 5s, description: how long taking the traffic away may take}}

  # At most one run for a zone in ten minutes, and runs of one service one after the other.
  throttle: {{onceWithin: 10m, groupBy: [service, zone]}}
  concurrency: {{group: "service/{{{{ service.name }}}}", onConflict: queue}}

  # It may only be stricter than the policy.
  limits: {{maxZones: 1, minHealthy: 50%}}

  # Each step follows the one before; `needs` makes a graph. What a step did is taken back when the run fails.
  steps:
    - id: shift
      uses: traffic.shift
      with: {{zone: "{{{{ incident.zone }}}}", weight: 0, over: "{{{{ inputs.ramp }}}}"}}
      timeout: 1m
      retry: {{limit: 3}}

  # The run succeeds only when what started it is good again.
  verify:
    - {{signal: trigger, within: 3m, for: 30s}}

  onFailure: {{undo: true}}
"""

TEST = """\
# Run it:  fleetward playbook test {name}.test.yaml     No service is needed, and none is touched.
apiVersion: fleetward.dev/v1
kind: PlaybookTest
metadata: {{name: {name}}}
spec:
  playbook: {name}
  cases:
    - name: a zone that fails its clients loses its traffic
      event: {{target: chat/local/zone-a, signal: "slo:chat-success"}}
      expect:
        state: succeeded
        steps:
          - {{id: shift, with: {{zone: zone-a, weight: 0}}, outputs: {{weight: 0}}}}
        fleet: {{weights: {{zone-a: 0}}}}
"""


def skeleton(name: str) -> dict[str, str]:
    """Return the texts of a playbook called ``name`` and of its test, by their files' names."""
    if not re.fullmatch(NAME_PATTERN, name):
        msg = f"`{name}` is not a name"
        raise InvalidInput(msg, hint="write lower case letters, digits and dashes")
    files = {f"{name}.yaml": PLAYBOOK, f"{name}.test.yaml": TEST}
    return {file: text.format(name=name) for file, text in files.items()}
