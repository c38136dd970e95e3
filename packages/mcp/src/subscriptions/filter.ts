import { Type, type Static } from '@sinclair/typebox'

const wanted = Type.Optional(Type.Boolean())

/** The changes that a client wants to be notified of. */
export const FilterSchema = Type.Object({
  toolsListChanged: wanted,
  promptsListChanged: wanted,
  resourcesListChanged: wanted,
  resourceSubscriptions: Type.Optional(Type.Array(Type.String())),
  taskIds: Type.Optional(Type.Array(Type.String()))
})
type Filter = Static<typeof FilterSchema>

/** The changes that this server reports: those of its lists of tools and prompts. */
export type Honored = Pick<Filter, 'toolsListChanged' | 'promptsListChanged'>

/** The part of a filter that the server keeps to. */
export function toHonored({ toolsListChanged, promptsListChanged }: Filter): Honored {
  return {
    ...(toolsListChanged === true && { toolsListChanged }),
    ...(promptsListChanged === true && { promptsListChanged })
  }
}

/** The notifications of a change, for one who has asked for these. */
export function notificationsOf({ toolsListChanged, promptsListChanged }: Honored): string[] {
  return [
    ...(toolsListChanged === true ? ['notifications/tools/list_changed'] : []),
    ...(promptsListChanged === true ? ['notifications/prompts/list_changed'] : [])
  ]
}
