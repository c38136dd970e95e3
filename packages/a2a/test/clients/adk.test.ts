import { adk } from '@tools/a2a-clients/adk'
import { testClients } from '../helpers/client-scenario.ts'

await testClients([adk])
