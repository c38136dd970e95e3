import { defined } from '@svc/contract'
import type { AgentCard } from '../../model/agent-card.ts'
import type { Artifact } from '../../model/message.ts'
import type { TaskPushConfig } from '../../model/requests.ts'
import type { Task, TaskEvent, TaskStatus } from '../../model/task.ts'
import type { Codec } from '../codec.ts'
import { fromProtoJson } from '../proto-json.ts'
import { encodeRequirement, encodeRequirements, encodeSchemes } from '../security-scheme.ts'
import { STATES } from '../states.ts'
import { encodeCard } from './card.ts'
import { codecV03, isFinal } from './codec.ts'
import { isObject } from './message.ts'
import { encodeRestMessage, encodeRestPart, toRpcMessage } from './rest-answers.ts'

function encodeRestTask({ id, contextId, status, artifacts, history, metadata }: Task): object {
  return {
    id,
    contextId,
    status: encodeStatus(status),
    artifacts: artifacts?.map(encodeArtifact),
    history: history?.map(encodeRestMessage),
    metadata
  }
}

/** An event as the StreamResponse of the proto of version 0.3. */
function encodeRestEvent(event: TaskEvent): object {
  switch (event.type) {
    case 'task':
      return { task: encodeRestTask(event.task) }
    case 'message':
      return { message: encodeRestMessage(event.message) }
    case 'status': {
      const { taskId, contextId, status } = event
      return {
        statusUpdate: { taskId, contextId, status: encodeStatus(status), final: isFinal(status.state) }
      }
    }
    default: {
      const { taskId, contextId, artifact, append, lastChunk } = event
      return { artifactUpdate: { taskId, contextId, artifact: encodeArtifact(artifact), append, lastChunk } }
    }
  }
}

// The proto of version 0.3 writes this one state with two l's.
function encodeStatus({ state, message, timestamp }: TaskStatus): object {
  const name = state === 'canceled' ? 'TASK_STATE_CANCELLED' : STATES[state]
  return { state: name, message: message && encodeRestMessage(message), timestamp }
}

function encodeArtifact({ parts, ...artifact }: Artifact): object {
  return { ...artifact, parts: parts.map(encodeRestPart) }
}

type Fields = Record<string, unknown>

const decodeSend: Codec['decode']['send'] = (params) => {
  const { message, configuration, ...rest } = fromProtoJson(params) as Fields
  return codecV03.decode.send({
    ...rest,
    message: toRpcMessage(message),
    configuration: toRpcConfiguration(configuration)
  })
}

// The JSON of a proto omits a flag that is false. Other values stay unchanged, for the schema to refuse.
function toRpcConfiguration(configuration: unknown): unknown {
  if (!isObject(configuration)) return configuration
  const { pushNotification, blocking = false, ...settings } = configuration
  return { ...settings, blocking, ...defined({ pushNotificationConfig: pushNotification }) }
}

const decodePushId = (params: Fields) => {
  const { taskId, id } = params as { taskId: string; id: string }
  return { taskId, id }
}

function encodePushConfig({ taskId, ...pushNotificationConfig }: TaskPushConfig): object {
  const name = `tasks/${taskId}/pushNotificationConfigs/${pushNotificationConfig.id}`
  return { name, pushNotificationConfig }
}

// In the proto a security scheme is a oneof.
function encodeRestCard(card: AgentCard): Record<string, unknown> {
  const { securitySchemes, security: _, ...rest } = encodeCard(card)
  if (securitySchemes === undefined) return rest
  const schemes = encodeSchemes(card.securitySchemes)
  if (Object.keys(schemes).length === 0) return rest
  const security = card.security?.map(encodeRequirement) ?? encodeRequirements(schemes)
  return { ...rest, securitySchemes: schemes, security }
}

/** Version 0.3 over HTTP+JSON: the JSON of its proto, where the name of a member discriminates parts and events. */
export const restCodecV03: Codec = {
  ...codecV03,
  decode: {
    ...codecV03.decode,
    send: decodeSend,
    stream: decodeSend,
    setPushConfig(params) {
      const { taskId, configId, config, pushNotificationConfig } = fromProtoJson(params) as Fields
      const nested = (config as Fields | undefined)?.['pushNotificationConfig'] ?? pushNotificationConfig
      const named = configId === undefined || configId === '' ? {} : { id: configId }
      return codecV03.decode.setPushConfig({
        taskId,
        pushNotificationConfig:
          typeof nested === 'object' && nested !== null ? { ...nested, ...named } : nested
      })
    },
    getPushConfig: decodePushId,
    deletePushConfig: decodePushId,
    listPushConfigs: ({ taskId }) => ({ taskId: taskId as string })
  },
  encode: {
    ...codecV03.encode,
    send: encodeRestEvent,
    stream: encodeRestEvent,
    get: encodeRestTask,
    list: ({ tasks, ...page }) => ({ tasks: tasks.map(encodeRestTask), ...page }),
    cancel: encodeRestTask,
    subscribe: encodeRestEvent,
    setPushConfig: encodePushConfig,
    getPushConfig: encodePushConfig,
    listPushConfigs: (configs) => ({ configs: configs.map(encodePushConfig), nextPageToken: '' }),
    deletePushConfig: () => ({}),
    extendedCard: encodeRestCard
  },
  encodeEvent: encodeRestEvent
}
