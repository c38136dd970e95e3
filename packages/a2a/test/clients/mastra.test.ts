import { mastra } from '@tools/a2a-clients/mastra'
import { testClients } from '../helpers/client-scenario.ts'

await testClients(mastra)
