import { Type } from '@sinclair/typebox'

/** The names of everything that can be run, by kind. */
export const RegistrySchema = Type.Object(
  {
    agents: Type.Array(Type.String()),
    teams: Type.Array(Type.String()),
    workflows: Type.Array(Type.String())
  },
  { title: 'Registry' }
)
