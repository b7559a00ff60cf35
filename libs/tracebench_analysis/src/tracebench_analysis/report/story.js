'use strict';
const data=document.getElementById('steps');
if(data){
 const steps=JSON.parse(data.textContent), at=document.getElementById('at'), told=document.getElementById('told');
 const text=document.getElementById('text'), box=document.getElementById('picture'), play=document.getElementById('play');
 const MOVING=['cx','cy','r','x','y','width','height'];
 const curves=document.getElementById('curves'), line=curves&&curves.querySelector('.now');
 let last=null;
 for(const step of steps){ if(step.picture) last=step.picture; step.picture=step.picture||last; }
 const parsed=steps.map(step=>step.picture&&step.picture.svg
  ?document.importNode(new DOMParser().parseFromString(step.picture.svg,'image/svg+xml').documentElement,true):null);
 const shapes=svg=>svg?[...svg.querySelectorAll('circle,rect')]:[];
 const alike=(a,b)=>a.length===b.length&&a.every((shape,i)=>shape.tagName===b[i].tagName);
 let now=-1;
 function draw(){
  const t=Number(at.value), i=Math.min(Math.floor(t),steps.length-1), near=Math.round(t), share=t-i;
  if(near!==now){
   now=near; told.textContent=steps[near].told; text.innerHTML=steps[near].text;
   if(box&&!parsed[near]&&steps[near].picture){
    const img=new Image(); img.alt=steps[near].told; img.src=steps[near].picture.image; box.replaceChildren(img); }
  }
  if(line){
   const next=steps[Math.min(i+1,steps.length-1)].after, after=steps[i].after+(next-steps[i].after)*share;
   const x=Number(line.dataset.left)+Math.min(1,after/Number(curves.dataset.most))*Number(line.dataset.wide);
   line.setAttribute('x1',x); line.setAttribute('x2',x); line.classList.add('on');
  }
  if(!box||!parsed[near]) return;
  const shown=parsed[near].cloneNode(true), from=shapes(parsed[i]), to=shapes(parsed[Math.min(i+1,steps.length-1)]), own=shapes(shown);
  if(share>0&&alike(from,to)) own.forEach((shape,k)=>{ for(const name of MOVING){
   const a=Number(from[k].getAttribute(name)), b=Number(to[k].getAttribute(name));
   if(from[k].hasAttribute(name)&&Number.isFinite(a)&&Number.isFinite(b)) shape.setAttribute(name,a+(b-a)*share);
  }});
  shown.setAttribute('role','img'); shown.setAttribute('aria-label',steps[near].told);
  box.replaceChildren(shown);
 }
 let timer=null;
 function stop(){ clearInterval(timer); timer=null; play.textContent='Play'; }
 at.addEventListener('input',()=>{ stop(); draw(); });
 play.addEventListener('click',()=>{
  if(timer){ stop(); return; }
  if(Number(at.value)>=steps.length-1) at.value=0;
  play.textContent='Pause';
  timer=setInterval(()=>{ at.value=Number(at.value)+0.04; draw(); if(Number(at.value)>=steps.length-1) stop(); },40);
 });
 draw();
}
function reachable(){
 for(const box of document.querySelectorAll('.wide')){
  if(box.scrollWidth<=box.clientWidth){ box.removeAttribute('tabindex'); continue; }
  box.tabIndex=0; box.setAttribute('role','group'); box.setAttribute('aria-label','Table, wider than the page: scroll sideways');
 }
}
addEventListener('resize',reachable); reachable();
