import type { Intent } from './intent.ts'

const HELLO =
  /^(?:hi+|hello+|hey+|heya|hiya|yo|howdy|greetings|good (?:morning|afternoon|evening|day)|hallo|guten (?:tag|morgen|abend)|moin|servus|bonjour|salut|hola|buen[oa]s (?:días|dias|tardes|noches)|ciao|buongiorno|olá|ola|hej|hei|namaste|привет|здравствуйте|こんにちは|你好|안녕하세요|مرحبا|שלום)(?: (?:there|all|everyone|again|assistant|bot|friend|world|team|you))*$/
const THANKS =
  /^(?:(?:ok|okay|great|cool|nice|perfect|super|awesome|wow|no|alright)\s+)?(?:thanks?|thank you|thx|ty|cheers|much appreciated|danke(?: schön)?|merci(?: beaucoup)?|gracias|grazie|obrigad[oa]|tack|dank je|ありがとう|谢谢|спасибо)(?: (?:you|so much|very much|a lot|a bunch|a million|for .{1,60}|again|bot|assistant|man|mate|everyone))*$/
const BYE =
  /^(?:bye+(?: bye)?|good ?bye|see (?:you|ya)(?: (?:later|soon|tomorrow))?|cya|farewell|good night|tschüss|auf wiedersehen|au revoir|adi[oó]s|arrivederci|that(?:'s| is) all(?: for (?:now|today))?|i(?:'m| am) done)(?: (?:then|now|bot|assistant|everyone))*$/
const OK =
  /^(?:ok(?:ay)?|k|great|cool|nice(?: one)?|perfect|super|awesome|wow|good(?: (?:job|work|answer))?|well done|alright|all right|got it|i see|understood|makes sense|fine|sure|yes|yep|yeah|no|nope|nah|lol|haha+|interesting|right|correct|exactly|good to know|never ?mind|forget (?:it|about it)|no (?:problem|worries))(?: (?:then|now))?$/
const HOW_ARE_YOU =
  /^(?:(?:and )?how are (?:you|things)(?: (?:doing|today|going))*|how(?:'s| is) it going|how do you do|what'?s up|sup|are you (?:ok|okay|fine|there|alive|awake|well)|wie geht(?:'s| es)(?: (?:dir|ihnen|euch))?|(?:comment )?(?:ça|ca) va(?: bien)?|comment (?:allez vous|vas tu)|(?:cómo|como) est[aá]s?|qu[eé] tal|come stai)$/
const CAPABILITIES =
  /^(?:help(?: me)?|(?:what|how) (?:can|could|do|would) you (?:do|help|offer|know|support|assist)(?: (?:me|for me|with|us|here|in general))*|what (?:else )?can i (?:ask|do)(?: (?:you|here|with you|of you|about))*|(?:so )?who (?:are|r) (?:you|u)|what(?: exactly)? are you(?: (?:good (?:at|for)|for|called|able to do|capable of))?|what(?:'s| is) your (?:name|purpose|job|role|function)|(?:please )?(?:introduce|describe) yourself|tell me about yourself|are you (?:an? )?(?:ai|bot|robot|human|llm|real|person|machine|model|chatgpt|gpt|claude|gemini|language model)(?: .{0,30})?|(?:which|what) (?:(?:language )?model|llm|ai)(?: (?:are you|do you use|is this|runs here|are you (?:using|running)|am i talking to))?(?: on)?|who (?:made|built|created|wrote) you|what do you know(?: about)?|what (?:topics|things|questions) (?:can|do) you .{1,40}|can you help(?: me)?(?: (?:out|please))?|(?:can|could) you (?:write|generate|draw|translate|sing|program|browse|speak|search the (?:web|internet))(?: \S+){0,4}|i need (?:some )?help|what tools do you have|which tools (?:do|can) you (?:have|use))$/
const INSTRUCTIONS =
  /\b(?:ignore|disregard|forget|override|bypass|skip)\b.{0,40}\b(?:previous|prior|above|earlier|all|your|the|any)\b.{0,30}\b(?:instructions?|prompts?|rules|directions?|guidelines|constraints|programming|system)\b|\bsystem prompt\b|\b(?:your|the) (?:hidden |secret |initial |original |system )?(?:instructions|prompt)\b(?! caching)|\bjailbreak|\bdeveloper mode\b|\bdo anything now\b|\byou are now\b|\bpretend (?:to be|you are|that you)|\bact as (?:an?|if|my|the)\b|\brepeat (?:the|all) (?:words|text) above\b|<\/?(?:system|instructions?)>|\[\/?INST\]/i
const GREETING_SIGNS = /^(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\u200d|\ufe0f|\s)+$/u

/** Reads what needs no look-up: greetings, thanks, who are you, nothing at all, and attempts to change the rules. */
export function readSmallTalk(text: string): Intent | undefined {
  if (GREETING_SIGNS.test(text)) return readSigns(text)
  const bare = text
    .replace(/\p{Extended_Pictographic}|\ufe0f|\u200d/gu, ' ')
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/[^\p{L}\p{N}\s']+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/^please | please$/g, '')
  if (bare === '') return { type: 'empty' }
  if (INSTRUCTIONS.test(text)) return { type: 'instructions' }
  if (CAPABILITIES.test(bare.replace(/^(?:so|and|hi|hello|hey|ok) /, ''))) return { type: 'capabilities' }
  if (bare.length > 80) return undefined
  if (HELLO.test(bare)) return { type: 'small-talk', kind: 'greeting' }
  if (HOW_ARE_YOU.test(bare.replace(/^(?:hi|hello|hey|hallo|guten tag|bonjour|salut|hola) /, '')))
    return { type: 'small-talk', kind: 'well-being' }
  if (THANKS.test(bare)) return { type: 'small-talk', kind: 'thanks' }
  if (BYE.test(bare)) return { type: 'small-talk', kind: 'farewell' }
  if (OK.test(bare)) return { type: 'small-talk', kind: 'acknowledgement' }
  return undefined
}

function readSigns(text: string): Intent {
  if (/[👋🙋🤗]/u.test(text)) return { type: 'small-talk', kind: 'greeting' }
  if (/[🙏❤💖😍🥰]/u.test(text)) return { type: 'small-talk', kind: 'thanks' }
  if (/[👍👌✅😀😃😄😁😊🙂🎉🚀💯]/u.test(text)) return { type: 'small-talk', kind: 'acknowledgement' }
  return { type: 'empty' }
}
