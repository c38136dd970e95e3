import { stemsOf } from './terms.ts'

// Words that users of this service take for one another; each line is one meaning.
const GROUPS = [
  'cancel stop abort interrupt kill',
  'resume reconnect continue',
  'store storage database db sqlite persist save sql',
  'session conversation chat thread',
  'remember history',
  'install setup',
  'start launch boot',
  'delete remove unregister',
  'timeout deadline long duration',
  'approval approve confirm confirmation permission',
  'deny reject refuse decline',
  'error fault failure exception',
  'error err',
  'sse event-stream eventsource',
  'stream streaming live',
  'key apikey credential',
  'limit maximum max bound',
  'big large size length',
  'need require requirement prerequisite',
  'change set configure',
  'retry attempt',
  'page pagination paginate cursor',
  'provider vendor',
  'openai gpt chatgpt',
  'anthropic claude',
  'google gemini',
  'license licence free',
  'package module library',
  'state status',
  'offline local',
  'environment env variable',
  'register add',
  'authentication authenticate auth login jwt token secure security protect',
  'crash restart reboot',
  'survive last durable persist',
  'folder directory',
  'route endpoint path url',
  'node nodejs',
  'test testing',
  'socket websocket socket.io gateway',
  'fast speed performance benchmark bench latency',
  'contribute contributing contributor',
  'list enumerate',
  'create define construct write build',
  'part chunk event',
  'port interface'
]

const SYNONYMS = new Map<string, Set<string>>()
for (const group of GROUPS) {
  const stems = group.split(' ').map((word) => stemsOf(word)[0] ?? word)
  for (const stem of stems) {
    const known = SYNONYMS.get(stem) ?? new Set()
    for (const other of stems) if (other !== stem) known.add(other)
    SYNONYMS.set(stem, known)
  }
}

/** The stems that mean about the same as a stem, in the words of this service. */
export function synonymsOf(stem: string): string[] {
  return [...(SYNONYMS.get(stem) ?? [])]
}
