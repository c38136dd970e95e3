const HELP = 'Hello! Ask me something about this service, let me calculate, or ask for the time somewhere.'
const NEXT = 'All right. What would you like to know next?'

/** What is said in four calls to the phone of the demo, and the answers. */
export const CALLS: readonly (readonly (readonly [said: string, answer: string])[])[] = [
  [
    ['what is twelve times seven', '12 times 7 is 84.'],
    ['and times two', '(12 times 7) times 2 is 168.'],
    ['hello', HELP],
    ['what is fifty plus two', '50 plus 2 is 52.'],
    ['thank you', 'You are welcome.'],
    ['what is twenty divided by six', '20 divided by 6 is about 3.33.']
  ],
  [
    ['my name is ada', 'Noted: Your name is ada.'],
    ['what is my name', 'Your name is ada.'],
    ['what is eleven minus seven', '11 minus 7 is 4.'],
    ['what is twenty divided by four', '20 divided by 4 is 5.'],
    ['what is ten times ten', '10 times 10 is 100.'],
    ['what is two plus twelve', '2 plus 12 is 14.']
  ],
  [
    ['good morning', HELP],
    ['what is fifty minus twenty', '50 minus 20 is 30.'],
    ['what is nine plus eight', '9 plus 8 is 17.'],
    ['what is eight times two', '8 times 2 is 16.'],
    ['what is twelve times eleven', '12 times 11 is 132.'],
    ['and plus ten', '(12 times 11) plus 10 is 142.']
  ],
  [
    ['what is twenty percent of fifty', '20 divided by 100 times 50 is 10.'],
    ['what is two times nine', '2 times 9 is 18.'],
    ['what is twelve divided by two', '12 divided by 2 is 6.'],
    ['no', NEXT],
    ['what is eight plus twelve', '8 plus 12 is 20.'],
    ['yes', NEXT]
  ]
]
