/** Scenarios of the official suite that do not apply to this server, and why. */
export const NOT_APPLICABLE: Readonly<Record<string, string>> = {
  'completion-complete':
    'no argument of a prompt or template has values to suggest; the capability is not declared',
  'server-stateless':
    'passes but for one check, which expects that a tool needs `sampling`; what a client lacks here is `elicitation`',
  'logging-set-level': 'what a run does is told as progress and in its log; the capability is not declared',
  'tools-call-with-logging': 'as logging-set-level',
  'tools-call-sampling': 'agents have models of their own and never ask for those of clients',
  'input-required-result-basic-sampling': 'as tools-call-sampling',
  'input-required-result-basic-list-roots': 'agents do not work in the file system of clients',
  'input-required-result-multiple-input-requests': 'asks for sampling and roots beside a form',
  'input-required-result-capability-check':
    'expects a tool that asks for sampling instead of a form; a client without forms gets -32021 here',
  'input-required-result-basic-elicitation':
    'expects the key `user_name`; keys are ids of inputs here, as the specification allows (`input-required-result-request-state` passes)',
  'input-required-result-non-tool-request': 'prompts name skills and ask for nothing',
  'resources-read-text': 'reads `test://static-text`; the resources of this server are runs',
  'resources-read-binary': 'reads `test://static-binary`; as resources-read-text',
  'resources-templates-read': 'reads `test://template/…/data`; as resources-read-text',
  'resources-subscribe': 'needs a session; the server keeps none, and the capability is not declared',
  'resources-unsubscribe': 'as resources-subscribe',
  'prompts-get-simple': 'gets a prompt of the fixture; the prompts of this server are skills of its agents',
  'prompts-get-with-args': 'as prompts-get-simple',
  'prompts-get-embedded-resource': 'as prompts-get-simple',
  'prompts-get-with-image': 'as prompts-get-simple',
  'tasks-lifecycle':
    'passes but for `protocol_error_job`: a run that fails is a call that completed with an error, never an error of JSON-RPC',
  'tasks-required-task-error': 'no tool is for clients with tasks only',
  'tasks-mrtr-composition': 'clients with tasks are asked through their task, never before it',
  'http-custom-header-server-validation': 'no tool declares headers of its own (`x-mcp-header`)'
}

/** How many checks of such a scenario fail, unless it is one. */
export const FAILED_CHECKS: Readonly<Record<string, number>> = { 'http-custom-header-server-validation': 5 }
