// Well-known values of `gen_ai.provider.name`, where they are not the first word of the AI SDK's own name.
const KNOWN: readonly (readonly [RegExp, string])[] = [
  [/^google\.vertex|^vertex/, 'gcp.vertex_ai'],
  [/^google/, 'gcp.gemini'],
  [/^azure/, 'azure.ai.openai'],
  [/^amazon-bedrock/, 'aws.bedrock'],
  [/^mistral/, 'mistral_ai'],
  [/^xai/, 'x_ai']
]

/** The provider of a model as the GenAI semantic conventions of OpenTelemetry name it. */
export function toProviderName(provider: string): string {
  return KNOWN.find(([pattern]) => pattern.test(provider))?.[1] ?? provider.split('.')[0]!
}
