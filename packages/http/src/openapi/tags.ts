/** The groups of operations, in the order in which pages show them. */
export const TAGS = [
  { name: 'Agents', description: 'Run agents, and see what there is' },
  { name: 'Teams', description: 'Run teams, and see what there is' },
  { name: 'Workflows', description: 'Run workflows, and see what there is' },
  { name: 'Registry', description: 'Everything that can be run, by name' },
  { name: 'Runs', description: 'Follow, look at and cancel one’s own runs' },
  { name: 'Approvals', description: 'Answer for tools that wait for it' },
  { name: 'Admin', description: 'Everybody’s runs, and what is registered' },
  { name: 'Health', description: 'Whether the process is up, and takes runs' }
]
