import { Team, type Agent, type Model } from '@svc/runtime'

/** The team of the demo: its leader hands each message to the agent that is to answer it. */
export function createDesk(model: Model, members: readonly Agent[]): Team {
  return new Team({
    name: 'desk',
    description: 'Takes any question, and hands it to the agent that knows best.',
    mode: 'route',
    model,
    members,
    replace: true
  })
}
