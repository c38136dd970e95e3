import { aiProvider } from '@tools/a2a-clients/ai-provider'
import t from 'tap'
import { testClients } from '../helpers/client-scenario.ts'

// The package prints what it sends and receives.
t.capture(console, 'log')

await testClients([aiProvider])
