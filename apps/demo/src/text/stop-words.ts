/** Words that say nothing about what a question is about. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about actually afterwards again all also am an and any anyone anything are aren't as ask at away be because been being
  bit but by can can't cannot could describe did didn't do does doesn't doing don't done e.g eg else ever every
  exactly example explain few find for from get getting give given go going gonna got had happen happening happens
  has have having he hello help her here hey hi his how how's however i i'd i'll i'm i've if in information into is
  isn't it it's its itself just kind know let let's like little look lot made make makes many may maybe me mean
  means might more much must my myself no not take takes taken now of oh ok okay on one only onto or other our out over
  own please possible pretty quite rather really right say says shall she should show so some somehow
  someone something soon sort still such take tell than thanks thank that that's the their them then there there's
  these they thing things think this those to too try u understand up upon us use used uses using very want wants was
  way ways we well were what what's when where where's whether which while who who's whom whose why will with
  within without won't wonder work works would wouldn't yes yet you you'd you'll you're your yourself difference
  between called detail details briefly quickly question answer talk discuss mention exist exists there's support supports
  supported able meaning
  life everything anything raise increase adjust modify tweak handle proper properly best
  cna hwo waht wat wht wich teh hte adn yuo thier shoud coud whould dose doesnt dont cant isnt arent wont im ive whats hows
  wheres stand stands contain contains u r ur pls plz`.split(/\s+/)
)
