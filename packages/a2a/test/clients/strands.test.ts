import { strands } from '@tools/a2a-clients/strands'
import { testClients } from '../helpers/client-scenario.ts'

await testClients([strands])
